// Package transport serves a repository of package vcs to git itself, by its smart
// HTTP protocol, versions 0 and 2: clone, fetch and push. It owns the protocol, the
// processes that answer it, and what is checked of a push. It owns no listener: the
// caller puts a handler on an agent's socket, which says who the agent is, or on a
// loopback address.
//
// # Fetch
//
// The repository is published, and `git upload-pack` answers from the folder, a
// process for each request, so many at once and no longer than Options allow.
//
// # Push
//
// Refs are never moved by git: `git receive-pack` would write them into the folder
// behind the writer's back. The protocol's few lines are spoken here, and git does
// what it is better at, in a quarantine beside the repository: `git index-pack
// --strict` checks every object and every link of the pack as `git fsck --strict`
// does. Then every object is looked at once more here: size, names, and that new
// commits are signed by the agent whose socket this is. Only then the pack becomes a
// part of the repository, and the writer moves the branch as for any commit.
package transport
