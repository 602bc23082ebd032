package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

// testGoClient is what testStockClients does, with OpenAI's client for Go.
func testGoClient(t *testing.T, s *server) {
	client := openai.NewClient(option.WithBaseURL(s.url), option.WithAPIKey("none"), option.WithMaxRetries(0))
	models, err := client.Models.List(t.Context())
	if err != nil || len(models.Data) == 0 {
		t.Fatalf("%+v, %v", models, err)
	}
	chat := openai.ChatCompletionNewParams{
		Model:       models.Data[0].ID,
		Messages:    []openai.ChatCompletionMessageParamUnion{openai.UserMessage("What is the capital of France? Answer in one word.")},
		Temperature: openai.Float(0), MaxCompletionTokens: openai.Int(8), Logprobs: openai.Bool(true), TopLogprobs: openai.Int(2),
	}
	whole, err := client.Chat.Completions.New(t.Context(), chat)
	if err != nil || len(whole.Choices) != 1 || !strings.Contains(whole.Choices[0].Message.Content, "Paris") {
		t.Fatalf("%+v, %v", whole, err)
	}
	var said strings.Builder
	for _, token := range whole.Choices[0].Logprobs.Content {
		said.WriteString(token.Token)
		if len(token.TopLogprobs) != 2 || token.TopLogprobs[0].Token != token.Token {
			t.Errorf("%+v", token)
		}
	}
	if said.String() != whole.Choices[0].Message.Content {
		t.Errorf("tokens %q, text %q", said.String(), whole.Choices[0].Message.Content)
	}
	t.Run("streams", func(t *testing.T) { testGoStream(t, client, chat, whole) })
	t.Run("text completion", func(t *testing.T) { testGoText(t, client, chat.Model) })
	t.Run("errors", func(t *testing.T) {
		bad := chat
		bad.Temperature = openai.Float(-1)
		var e *openai.Error
		if _, err := client.Chat.Completions.New(t.Context(), bad); !errors.As(err, &e) || e.StatusCode != 400 || e.Param != "temperature" {
			t.Errorf("%v", err)
		}
	})
}

func testGoStream(t *testing.T, client openai.Client, chat openai.ChatCompletionNewParams, whole *openai.ChatCompletion) {
	chat.StreamOptions.IncludeUsage = openai.Bool(true)
	stream := client.Chat.Completions.NewStreaming(t.Context(), chat)
	defer stream.Close()
	var sum openai.ChatCompletionAccumulator
	for stream.Next() {
		if !sum.AddChunk(stream.Current()) {
			t.Fatalf("a chunk that does not fit: %+v", stream.Current())
		}
	}
	if err := stream.Err(); err != nil {
		t.Fatal(err)
	}
	if sum.Choices[0].Message.Content != whole.Choices[0].Message.Content || sum.Usage.TotalTokens != whole.Usage.TotalTokens {
		t.Errorf("streamed %q (%d tokens), whole %q (%d)", sum.Choices[0].Message.Content, sum.Usage.TotalTokens,
			whole.Choices[0].Message.Content, whole.Usage.TotalTokens)
	}
}

func testGoText(t *testing.T, client openai.Client, model string) {
	text, err := client.Completions.New(t.Context(), openai.CompletionNewParams{
		Model:  openai.CompletionNewParamsModel(model),
		Prompt: openai.CompletionNewParamsPromptUnion{OfArrayOfStrings: []string{"The capital of France is", "1, 2, 3,"}},
		Echo:   openai.Bool(true), MaxTokens: openai.Int(4), Temperature: openai.Float(0),
	})
	if err != nil || len(text.Choices) != 2 || !strings.Contains(text.Choices[0].Text, "Paris") || !strings.HasPrefix(text.Choices[1].Text, "1, 2, 3,") {
		t.Errorf("%+v, %v", text, err)
	}
}
