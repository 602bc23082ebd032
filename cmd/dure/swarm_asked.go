package main

import (
	"path/filepath"
	"time"
)

// teamAsk is what a run needs to know again when it goes on.
type teamAsk struct {
	Script string `json:"script,omitempty"`
	URL    string `json:"url,omitempty"`
	Model  string `json:"model,omitempty"`
	KeyEnv string `json:"key_env,omitempty"`

	Tools     string        `json:"tools,omitempty"`
	Servers   string        `json:"servers,omitempty"`
	MustCall  bool          `json:"must_call,omitempty"`
	Turns     int           `json:"turns"`
	CheckTime time.Duration `json:"check_time"`
	ShellTime time.Duration `json:"shell_time"`

	Judging judgeFlags `json:"judging,omitzero"`
}

// asked is what the command line said, with whole paths.
func (o *swarmRun) asked() (a teamAsk, err error) {
	a = teamAsk{
		o.models.script, o.models.url, o.models.name, o.models.keyEnv,
		o.extra.tools, o.extra.servers, o.mustCall, o.turns, o.checkTime, o.shellTime, o.calls,
	}
	for _, file := range []*string{&a.Script, &a.Tools, &a.Servers, &a.Judging.Places} {
		if *file != "" && err == nil {
			*file, err = filepath.Abs(*file)
		}
	}
	return a, err
}

// unless is what was written down, but for what the command line says anew.
func (a teamAsk) unless(given func(string) bool, b teamAsk) teamAsk {
	for flag, take := range map[string]func(){
		"script": func() { a.Script = b.Script }, "url": func() { a.URL = b.URL }, "model": func() { a.Model = b.Model },
		"key-env": func() { a.KeyEnv = b.KeyEnv }, "tools": func() { a.Tools = b.Tools }, "mcp": func() { a.Servers = b.Servers },
		"must-call": func() { a.MustCall = b.MustCall }, "turns": func() { a.Turns = b.Turns },
		"check-time": func() { a.CheckTime = b.CheckTime }, "shell-time": func() { a.ShellTime = b.ShellTime },
		"judge-model": func() { a.Judging.Model = b.Judging.Model }, "judge-open": func() { a.Judging.Open = b.Judging.Open },
		"judge-all": func() { a.Judging.All = b.Judging.All }, "judge-places": func() { a.Judging.Places = b.Judging.Places },
		"judge-time": func() { a.Judging.Time = b.Judging.Time },
	} {
		if given(flag) {
			take()
		}
	}
	return a
}

func (o *swarmRun) ask(a teamAsk) {
	o.models = swarmModels{a.Script, a.URL, a.Model, a.KeyEnv}
	o.extra = extraFlags{a.Tools, a.Servers}
	o.calls = a.Judging
	o.mustCall, o.turns, o.checkTime, o.shellTime = a.MustCall, a.Turns, a.CheckTime, a.ShellTime
}
