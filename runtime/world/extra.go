package world

import (
	"context"
	"fmt"

	"dure/runtime/swarm"
	"dure/runtime/tool"
	"dure/runtime/tool/builtin"
	"dure/runtime/tool/custom"
	"dure/runtime/tool/mcp"
)

// Extra is what a person gives those who change files beside their own tools.
type Extra struct {
	Tools []custom.Spec
	// Servers are programs of other makers. They run in each agent's box, whose Mounts
	// must have them.
	Servers []mcp.Config
}

// mostShown bytes of what a server's tool said are shown to its agent.
const mostShown = 16 << 10

// extra starts what a person gave a role. stop ends it, and must be called before the
// box is closed.
func (w *World) extra(ctx context.Context, p place, r swarm.Role) (tools []tool.Tool, stop func(), err error) {
	var servers []*mcp.Server
	stop = func() {
		for _, s := range servers {
			s.Close()
		}
	}
	if !commits(r) {
		return nil, stop, nil
	}
	if tools, err = custom.New(w.Extra.Tools, p.Box); err != nil {
		return nil, stop, err
	}
	for _, conf := range w.Extra.Servers {
		s, err := mcp.Start(ctx, p.Box, conf, w.Logger)
		if err != nil {
			stop()
			return nil, func() {}, fmt.Errorf("the tool server %s: %w", conf.Name, err)
		}
		servers = append(servers, s)
		for _, t := range s.Tools() {
			tools = append(tools, tool.Short(mostShown, builtin.Outputs{Box: p.Box}, tool.Within(w.ToolTime, t)))
		}
	}
	return tools, stop, nil
}
