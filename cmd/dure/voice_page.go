package main

import (
	_ "embed"
	"net/http"

	"dure/inference/front"
)

//go:embed pages/voice.html
var voicePage []byte

// voicePageRoute is the page to talk at. It loads nothing from anywhere.
func voicePageRoute() front.Route {
	return front.Route{Method: "GET", Path: "/voice", Open: true, Doc: "a page to talk at",
		Handle: func(x *front.Exchange, _ *http.Request) error {
			h := x.Header()
			h.Set("Content-Type", "text/html; charset=utf-8")
			h.Set("Content-Security-Policy", "default-src 'none'; script-src 'unsafe-inline' blob:; style-src 'unsafe-inline'; connect-src 'self'; media-src blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
			h.Set("Permissions-Policy", "microphone=(self), camera=(), geolocation=()")
			_, err := x.Write(voicePage)
			return err
		}}
}
