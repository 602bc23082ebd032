package openai

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"testing"

	"dure/inference"

	client "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

// The stock Go client reads what this surface writes.
func TestStockClient(t *testing.T) {
	w := newWorld(t, func(_ context.Context, req *inference.Request) iter.Seq2[inference.Event, error] {
		all := []inference.Event{started()}
		for i, ev := range spelled()[1:4] {
			if ev.Text != "" {
				ev.Text = fmt.Sprintf("%d%d ", req.Params.Seed, i)
			}
			if !req.Params.Logprobs {
				ev.Logprobs = nil
			}
			all = append(all, ev)
		}
		return script(nil, append(all, done())...)(nil, nil)
	})
	c := client.NewClient(option.WithBaseURL(w.URL+"/v1/"), option.WithAPIKey("k"), option.WithMaxRetries(0))
	chat := client.ChatCompletionNewParams{
		Model: "small", Messages: []client.ChatCompletionMessageParamUnion{client.UserMessage("hi")},
		N: client.Int(2), Seed: client.Int(5), Logprobs: client.Bool(true), TopLogprobs: client.Int(2),
		LogitBias: map[string]int64{"7": -100}, FrequencyPenalty: client.Float(0.5), PresencePenalty: client.Float(-2),
		MaxCompletionTokens: client.Int(9), Stop: client.ChatCompletionNewParamsStopUnion{OfStringArray: []string{"x"}},
	}
	whole, err := c.Chat.Completions.New(t.Context(), chat)
	if err != nil || len(whole.Choices) != 2 || whole.Choices[1].Message.Content != "60 61 " || whole.Usage.CompletionTokens != 6 {
		t.Fatalf("%v %s", err, whole.RawJSON())
	}
	if l := whole.Choices[0].Logprobs.Content; len(l) != 5 || l[0].TopLogprobs[0].Token != "x" || l[2].Bytes[0] != 0xeb {
		t.Errorf("%+v", l)
	}
	chat.StreamOptions.IncludeUsage = client.Bool(true)
	stream := c.Chat.Completions.NewStreaming(t.Context(), chat)
	var acc client.ChatCompletionAccumulator
	for stream.Next() {
		if !acc.AddChunk(stream.Current()) {
			t.Fatal("chunk does not fit")
		}
	}
	if stream.Err() != nil || len(acc.Choices) != 2 || acc.Choices[1].Message.Content != "60 61 " || acc.Usage.TotalTokens != 13 ||
		len(acc.Choices[1].Logprobs.Content) != 5 {
		t.Errorf("%v %+v", stream.Err(), acc.ChatCompletion)
	}

	text := client.CompletionNewParams{
		Model: "small", Prompt: client.CompletionNewParamsPromptUnion{OfArrayOfTokenArrays: [][]int64{{72}, {105}}},
		N: client.Int(2), Seed: client.Int(5), Logprobs: client.Int(2), BestOf: client.Int(2),
	}
	got, err := c.Completions.New(t.Context(), text)
	if err != nil || len(got.Choices) != 4 || got.Choices[3].Text != "60 61 " || got.Usage.PromptTokens != 14 ||
		got.Choices[2].Logprobs.TopLogprobs[0]["x"] != -0.25 {
		t.Fatalf("%v %s", err, got.RawJSON())
	}
	text.Logprobs, text.Echo = client.CompletionNewParams{}.Logprobs, client.Bool(true)
	texts := map[int64]string{}
	pieces := c.Completions.NewStreaming(t.Context(), text)
	for pieces.Next() {
		for _, choice := range pieces.Current().Choices {
			texts[choice.Index] += choice.Text
		}
	}
	if pieces.Err() != nil || texts[0] != "H50 51 " || texts[3] != "i60 61 " {
		t.Errorf("%v %v", pieces.Err(), texts)
	}
	text.Suffix = client.String("x")
	var refused *client.Error
	if _, err := c.Completions.New(t.Context(), text); !errors.As(err, &refused) || refused.Param != "suffix" ||
		refused.Code != "unsupported_parameter" {
		t.Errorf("got %v", err)
	}
}
