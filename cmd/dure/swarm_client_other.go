//go:build !amd64 && !arm64

package main

import "embed"

var builtClient embed.FS

const builtClientPath = ""
