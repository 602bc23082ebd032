package mcp

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"dure/runtime/tool"
)

// maxOutput bounds a result, in bytes; tool.Short makes less of it for the agent.
const maxOutput = 1 << 20

// result is what the agent sees of an answer.
func result(answer *sdk.CallToolResult) tool.Result {
	var parts []string
	for _, c := range answer.Content {
		parts = append(parts, content(c))
	}
	if len(parts) == 0 && answer.StructuredContent != nil {
		data, err := json.Marshal(answer.StructuredContent)
		if err != nil {
			data = []byte("[a result that cannot be shown: " + err.Error() + "]")
		}
		parts = append(parts, string(data))
	}
	r := tool.Result{Outcome: tool.Done, Output: strings.Join(parts, "\n")}
	switch {
	case answer.NeedsInput():
		r = tool.Result{Outcome: tool.Failed, Output: "not carried out: the tool server asks for more than the arguments, and nobody here answers it"}
	case answer.IsError:
		r.Outcome = tool.Failed
	}
	if r.Output == "" {
		r.Output = "[no output]"
	}
	r.Bytes = int64(len(r.Output))
	r.Output = clip(r.Output, maxOutput)
	return r
}

// content is one part of an answer as text; what is none is named.
func content(c sdk.Content) string {
	switch c := c.(type) {
	case *sdk.TextContent:
		return strings.ToValidUTF8(c.Text, "\uFFFD")
	case *sdk.ImageContent:
		return fmt.Sprintf("[an image of %d bytes, which cannot be shown here]", len(c.Data))
	case *sdk.AudioContent:
		return fmt.Sprintf("[a sound of %d bytes, which cannot be played here]", len(c.Data))
	case *sdk.ResourceLink:
		return fmt.Sprintf("[a link: %q]", c.URI)
	case *sdk.EmbeddedResource:
		if c.Resource != nil && c.Resource.Blob == nil {
			return strings.ToValidUTF8(c.Resource.Text, "\uFFFD")
		}
		return "[a file that is not text, which cannot be shown here]"
	}
	return "[something that cannot be shown here]"
}

// clip cuts a text to a number of bytes, at a whole character, and says so.
func clip(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	n := limit
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return fmt.Sprintf("%s\n[%d bytes more are lost]", text[:n], len(text)-n)
}
