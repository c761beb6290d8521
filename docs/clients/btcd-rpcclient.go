package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/btcsuite/btcd/rpcclient"
)

func main() {
	// It sets no header, so the key stands in the path.
	host := strings.TrimPrefix(os.Getenv("URL"), "http://")
	node, err := rpcclient.New(&rpcclient.ConnConfig{
		Host:         host + "/v1/rpc/btc/" + os.Getenv("KEY"),
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
