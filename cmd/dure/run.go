package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"dure/inference"
	"dure/inference/remote"
)

type runOptions struct {
	hostOptions
	addr, system string
	maxTokens    int
	asJSON       bool
}

func runCommand() *cobra.Command {
	var opt runOptions
	cmd := &cobra.Command{
		Use:   "run [MODEL] [PROMPT...]",
		Short: "Talk to a model in the terminal",
		Long: `Talk to a model in the terminal. If a dure server answers at --addr its models
are used, otherwise the model is loaded for this conversation. With a PROMPT, or
with text piped in, one answer is written to standard output.

In the conversation /help lists the commands; Ctrl-C stops an answer, Ctrl-D
leaves.`,
		Example: "  dure run\n  dure run smollm2-135m Why is the sky blue?\n  cat report.txt | dure run smollm2-135m Summarise this:\n  dure run --json smollm2-135m hello",
		RunE:    func(cmd *cobra.Command, args []string) error { return runChat(cmd, args, opt) },
	}
	opt.register(cmd)
	cmd.Flags().Lookup("log-level").DefValue = "warn"
	cmd.Flags().Set("log-level", "warn")
	cmd.Flags().StringVar(&opt.addr, "addr", defaultAddr, "address of a server to use if one answers there")
	cmd.Flags().StringVar(&opt.system, "system", "", "system message")
	cmd.Flags().IntVar(&opt.maxTokens, "max-tokens", 0, "longest answer in tokens; 0 = up to the end of the context")
	cmd.Flags().BoolVar(&opt.asJSON, "json", false, "write one event a line as JSON (with a prompt)")
	return cmd
}

func runChat(cmd *cobra.Command, args []string, opt runOptions) error {
	if err := opt.validate(); err != nil {
		return err
	}
	prompt, err := promptFrom(os.Stdin, args)
	if err != nil {
		return err
	}
	if prompt == "" && opt.asJSON {
		return fmt.Errorf("--json needs a prompt: dure run --json MODEL PROMPT, or text piped in")
	}
	loading, stop := interruptible(cmd)
	m, params, done, err := findModel(loading, args, opt)
	stop()
	if err != nil {
		return err
	}
	defer done()
	params.MaxTokens = opt.maxTokens
	out := cmd.OutOrStdout()
	if prompt != "" {
		ctx, stop := interruptible(cmd)
		defer stop()
		return once(ctx, m, params, opt.system, prompt, opt.asJSON, out)
	}
	home, err := homeDir()
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "/help lists the commands, Ctrl-D leaves")
	c := &chat{model: m, params: params, system: opt.system, out: out}
	return repl(cmd.Context(), c, filepath.Join(home, "history"))
}

// promptFrom joins the prompt of the command line and what is piped in. It is
// empty for a conversation.
func promptFrom(in *os.File, args []string) (string, error) {
	var parts []string
	if len(args) > 1 {
		parts = append(parts, strings.Join(args[1:], " "))
	}
	if !term.IsTerminal(int(in.Fd())) {
		text, err := io.ReadAll(in)
		if err != nil {
			return "", fmt.Errorf("read standard input: %w", err)
		}
		if len(strings.TrimSpace(string(text))) > 0 {
			parts = append(parts, string(text))
		} else if len(parts) == 0 {
			return "", fmt.Errorf("standard input is empty and there is no prompt: dure run MODEL PROMPT")
		}
	}
	return strings.Join(parts, "\n\n"), nil
}

// findModel uses the server that is running, or loads the model here. done
// unloads what was loaded.
func findModel(ctx context.Context, args []string, opt runOptions) (m inference.Model, params inference.Params, done func(), err error) {
	home, err := homeDir()
	if err != nil {
		return nil, params, nil, err
	}
	entry, err := resolve(home, args)
	if err != nil {
		return nil, params, nil, err
	}
	params = entry.Defaults.Params()
	if entry.Source.Path == "" && serverAnswers(ctx, opt.addr) {
		fmt.Fprintf(os.Stderr, "using the server at %s\n", opt.addr)
		key := strings.Join(apiKeys()[:min(1, len(apiKeys()))], "")
		return remote.New("http://"+opt.addr+"/v1", key, entry.Name, httpClient()), params, func() {}, nil
	}
	if err := requireLocal(home, entry); err != nil {
		return nil, params, nil, err
	}
	h, err := newHost(ctx, opt.hostOptions, os.Stderr, entry)
	if err != nil {
		return nil, params, nil, err
	}
	m, _, err = h.pool.Open(ctx, entry.Name)
	if err != nil {
		h.close()
		return nil, params, nil, err
	}
	return seeded{m}, params, h.close, nil
}

func serverAnswers(ctx context.Context, addr string) bool {
	resp, err := get(ctx, addr, "/health")
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}
