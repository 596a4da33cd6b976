// Package s3client looks at the S3 server of the tests (package peer) from outside, with the client of the AWS SDK. It
// stands apart because few tests need it, and it takes long to compile.
package s3client
