package main

import "embed"

//go:embed all:client/amd64
var builtClient embed.FS

const builtClientPath = "client/amd64/dure-client"
