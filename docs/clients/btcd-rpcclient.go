package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/btcsuite/btcd/rpcclient"
)

func main() {
	// It writes the scheme itself and takes what follows as it is, the path with it.
	host := strings.TrimPrefix(os.Getenv("URL"), "http://")
	node, err := rpcclient.New(&rpcclient.ConnConfig{
		Host:         host + "/v1/rpc/btc",
		ExtraHeaders: map[string]string{"X-API-Key": os.Getenv("KEY")},
		User:         "none",
		Pass:         "none",
		HTTPPostMode: true,
		DisableTLS:   true,
	}, nil)
	if err != nil {
		panic(err)
	}
	defer node.Shutdown()
	height, err := node.GetBlockCount()
	if err != nil {
		panic(err)
	}
	fmt.Println(height)
}
