// Package blob stores contents of any size under their SHA-256 digest: files, and payloads
// that are too large for a row. Equal contents are stored once. Names in the store are
// digests only; nothing that a user chose becomes part of a path.
//
// A content is written to a file of its own first (incoming, in Config.Folder), then moved or
// uploaded to its place, so that no reader ever sees half of one. Put returns when the content
// survives a power cut. Nothing is held in memory, however large it is.
//
// The digest is checked end to end: a reader of a whole content gets its last byte only if
// all of it matches (ErrDamaged). A range cannot be checked. A connection to a bucket that is
// cut in the middle of a read is continued where it was.
//
// This package does not know which rows use a content. Rows in package store count references; Config.Protect is
// the link between the two: Put calls it with the digest before it looks whether the
// content is there, so that a sweep that runs at the same time cannot delete the content
// in between (see store/blob.go).
//
// All methods of Store are safe for concurrent use. The contract is portable: a backend is a
// gocloud.dev bucket, and what a folder on a disk or an S3 store needs besides is in folder.go,
// s3.go and s3upload.go. Package blobtest is the suite that every kind of backend passes.
//
// A bucket and prefix belong to one installation: the sweep of another one would delete
// what only the first one's rows refer to.
package blob
