package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/decred/dcrd/rpcclient/v8"
)

func main() {
	// It sets no header of ours. It writes the scheme itself and takes what follows as it is, the
	// path with the key in it.
	host := strings.TrimPrefix(os.Getenv("URL"), "http://")
	node, err := rpcclient.New(&rpcclient.ConnConfig{
		Host:         host + "/v1/rpc/dcr/" + os.Getenv("KEY"),
		User:         "none",
		Pass:         "none",
		HTTPPostMode: true,
		DisableTLS:   true,
	}, nil)
	if err != nil {
		panic(err)
	}
	defer node.Shutdown()
	height, err := node.GetBlockCount(context.Background())
	if err != nil {
		panic(err)
	}
	fmt.Println(height)
}
