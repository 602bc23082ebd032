// Package cert is the certificate that a server shows: one that a person has, or
// one that dure makes for itself.
//
// It owns reading the files, following their changes while the server runs, and
// making a self-signed certificate for the names and addresses of this machine.
// It does not own who may connect: a certificate says who the server is, keys say
// who the client is (inference/key).
//
// A self-made certificate is trusted by nobody yet. Whoever connects compares its
// fingerprint with the one that the server prints, or is given the file of the
// certificate to trust. So it stays the same as long as it can: it is made anew
// only when it ends within 30 days, lacks a name or address of this machine that
// it should have, or its file cannot be used; and each time the reason is said. It
// vouches for this server only: it is no authority, so that a device that trusts
// it does not trust whatever its key could sign.
//
// Invariants:
//   - No version of TLS below 1.2.
//   - Certificate and key belong together, and the certificate is valid now, when a
//     Pair is made. One that changes for the worse while the server runs is said,
//     and the one of before goes on being shown.
//   - The self-made key is in a file that only its owner reads, together with its
//     certificate, so that the two never part.
//
// Callers: cmd/dure. A Pair is safe for concurrent use.
package cert
