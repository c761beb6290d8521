package main

import (
	"context"
	"fmt"
	"os"

	"github.com/ethereum/go-ethereum/ethclient"
	"github.com/ethereum/go-ethereum/rpc"
)

func main() {
	url := os.Getenv("URL") + "/v1/rpc/eth"
	client, err := rpc.DialOptions(context.Background(), url, rpc.WithHeader("X-API-Key", os.Getenv("KEY")))
	if err != nil {
		panic(err)
	}
	height, err := ethclient.NewClient(client).BlockNumber(context.Background())
	if err != nil {
		panic(err)
	}
	fmt.Println(height)
}
