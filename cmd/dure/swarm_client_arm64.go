package main

import "embed"

//go:embed all:client/arm64
var builtClient embed.FS

const builtClientPath = "client/arm64/dure-client"
