// Package bucket is the backend of package blob for a bucket of an S3 store. It stands apart because the AWS SDK is
// large, and because only the program that opens an installation needs to know it.
//
// What makes a bucket different from a folder, and why it is used as it is (uploads from a file, checksums, bounds by
// silence, no conditional writes), is explained in the documentation of package blob.
package bucket
