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
// Contents may be stored sealed (Config.Seal, package secret). What is sealed has another name: its digest, hidden, so
// that a guessed content cannot be recognized without the keys. A content that was there before is then stored once
// more. Sealing happens while a content is received, so that it is never on a disk in clear. A
// sealed content can be copied without keys (Copy), and has no address of its own. Every part of it is checked when
// it is read, ranges too.
//
// This package does not know which rows use a content. Rows in package store count references; Config.Protect is
// the link between the two: Put calls it with the digest before it looks whether the
// content is there, so that a sweep that runs at the same time cannot delete the content
// in between (see store/blob.go).
//
// All methods of Store are safe for concurrent use. The contract is portable: a backend is a
// gocloud.dev bucket, and what a folder on a disk or an S3 store needs besides is in folder.go and
// in package bucket. Package blobtest is the suite that every kind of backend passes.
//
// A bucket and prefix belong to one installation: the sweep of another one would delete
// what only the first one's rows refer to.
//
// # Why it is made like this
//
// Contents are received into a local file first, also for S3. The name of a content is its digest, which is
// known only at its end. One alternative is an upload under a temporary name and a copy within S3: that costs
// one more request, leaves objects behind in a crash, and makes a second thing to sweep. The other is memory,
// which has no bound. From a file, every part can be sent again after a fault without a buffer, and equal
// content needs no upload at all: from 1 MiB on, Put asks the store first.
//
// Uploads use the AWS SDK, everything else gocloud.dev. gocloud's writer reads a stream, so it has to buffer
// parts and cannot give S3 the digest in advance. With the digest as x-amz-checksum-sha256 the store itself
// refuses a content that was damaged on its way. A content in parts has a checksum for each part (CRC-32).
//
// The last byte is held back until the digest is right. HTTP clients compare the length with what arrives, so
// a damaged content becomes a broken download instead of a wrong file. A range is not checked: that would need
// the whole content for each range. The store and TLS vouch for it.
//
// A connection is bounded by silence, not by time. 1 GiB over a slow line may take an hour; 10 seconds without
// a byte are an outage. Each read and each write moves the deadline of both directions, because during an
// upload the answer is awaited all the time.
//
// No conditional writes. Content under its digest is the same from every writer, so it does no harm that the
// last write wins. Many stores do not know If-None-Match.
//
// A bucket that is missing or forbidden is an outage, never a missing content. A missing content makes an
// execution fail for good; a wrong policy can be repaired, and then everything continues.
//
// The sweep of a bucket asks for unfinished uploads once an hour. Each list is a request that costs money;
// parts are deleted after a day. A lifecycle rule does the same when no server runs any more.
//
// Redirects are off by default. A redirect shows the address of the store to every client that has a link, and
// this server neither checks nor logs what is read there.
package blob
