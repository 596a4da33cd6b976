package s3client

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/chargehand/chargehand/internal/peer"
)

// New is a client with all rights on a server.
func New(server *peer.S3) *s3.Client {
	return s3.New(s3.Options{
		BaseEndpoint: aws.String(server.Endpoint), Region: peer.S3Region, UsePathStyle: true,
		Credentials: credentials.NewStaticCredentialsProvider(server.AccessKey, server.SecretKey, ""),
	})
}
