// Package door lets one agent in to the board over a unix socket, and is the client
// that its shell uses. It owns the socket, the form of requests and answers, and the
// bounds on both; what a call may do is its gateway's to say.
//
// The socket is who the agent is: a Door is made with the agent's Gateway, and
// nothing that comes through it can name another. Who may connect is a matter of the
// file's mode and of what the agent's file system shows.
//
// # Requests
//
// HTTP with JSON, one call a request:
//
//	POST /v1/sql     {"sql": "...", "args": [...], "id": "32 hex digits"}   args and id may be missing
//	POST /v1/claim   {"table": "subtasks", "crew": "red", "id": "..."}
//	POST /v1/wait    {"after": 17, "tables": ["notes"], "seconds": 30}
//	GET  /v1/tables
//	     /git/           git itself, if Config.Git answers it
//
// Answers are a Result, a Change, a list of board.Table, or {"error": {"reason":
// "denied", "message": "..."}} with a status that fits. Fields that are not known
// are refused.
//
// cmd and the runtime's agent open doors.
package door
