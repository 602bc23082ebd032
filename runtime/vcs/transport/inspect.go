package transport

import (
	"fmt"

	"dure/runtime/vcs"
	"dure/runtime/vcs/object"
)

// A contents is a pack to look at. *vcs.Incoming is one.
type contents interface {
	Objects() ([]object.ID, error)
	Known(object.ID) bool
	Stat(object.ID) (object.Type, uint64, error)
	Read(object.ID) (object.Type, []byte, error)
}

// inspect looks at every object that is new with a pack.
func inspect(in contents, who object.Signature, limits vcs.Limits) error {
	ids, err := in.Objects()
	if err != nil {
		return err
	}
	for _, id := range ids {
		if in.Known(id) { // what completes a thin pack
			continue
		}
		if err := inspectOne(in, id, who, limits); err != nil {
			return fmt.Errorf("object %v: %w", id, err)
		}
	}
	return nil
}

func inspectOne(in contents, id object.ID, who object.Signature, limits vcs.Limits) error {
	t, size, err := in.Stat(id)
	if err != nil {
		return err
	}
	if size > uint64(limits.Blob) {
		return fmt.Errorf("%w: a %v of %d bytes; the limit is %d", vcs.ErrTooLarge, t, size, limits.Blob)
	}
	if t == object.TypeBlob {
		return nil
	}
	_, data, err := in.Read(id)
	if err != nil {
		return err
	}
	switch t {
	case object.TypeTree:
		_, err = object.CheckTree(data)
		return err
	case object.TypeCommit:
		return inspectCommit(data, who, limits)
	default:
		return fmt.Errorf("%w: a %v; agents push commits", vcs.ErrInvalid, t)
	}
}

// inspectCommit wants a new commit to be signed by who pushes it: nobody commits in
// another's name.
func inspectCommit(data []byte, who object.Signature, limits vcs.Limits) error {
	c, err := object.ParseCommit(data)
	if err != nil {
		return err
	}
	if len(c.Message) > limits.Message {
		return fmt.Errorf("%w: a message of %d bytes; the limit is %d", vcs.ErrTooLarge, len(c.Message), limits.Message)
	}
	for _, s := range []object.Signature{c.Author, c.Committer} {
		if s.Name != who.Name || s.Email != who.Email {
			return fmt.Errorf("%w: a commit by %s <%s>, pushed by %s; set user.name %s and user.email %s and commit again",
				vcs.ErrRefused, s.Name, s.Email, who.Name, who.Name, who.Email)
		}
	}
	return nil
}
