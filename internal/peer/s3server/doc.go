// Package s3server pins the S3 server of the tests (versitygw) in a module of its own, so that
// its many dependencies are none of Chargehand's. scripts/build-s3 builds it.
package s3server
