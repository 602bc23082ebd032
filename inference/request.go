package inference

// Roles of a chat message, as the chat templates of the models know them.
const (
	RoleSystem    = "system"
	RoleUser      = "user"
	RoleAssistant = "assistant"
)

// Message is one turn of a conversation. Content is text; other kinds of
// content are refused by the surfaces before a Message is made.
type Message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
	// Name is the optional name of the participant (OpenAI's field of that
	// name); templates that know it print it.
	Name string `json:"name,omitempty"`
}

// Request asks for one completion, either of a conversation (Messages, through
// the model's chat template) or of a raw Prompt; exactly one of them is set.
type Request struct {
	// ID names the request in logs and answers. The caller makes it.
	ID       string    `json:"id"`
	Messages []Message `json:"messages,omitempty"`
	Prompt   *Prompt   `json:"prompt,omitempty"`
	Params   Params    `json:"params"`
}

// Prompt is what a model continues without a chat template: text, or where
// Tokens is not nil exactly those tokens and nothing added.
type Prompt struct {
	Text   string  `json:"text,omitempty"`
	Tokens []int32 `json:"tokens,omitempty"`
}
