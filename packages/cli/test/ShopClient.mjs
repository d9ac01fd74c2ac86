/**
 * A gRPC application: makes one call to `xds:///shop`, prints the answer and ends. It knows nothing but the bootstrap that
 * its environment names.
 */
import { Client, credentials, Metadata } from "@grpc/grpc-js"
import { register } from "@grpc/grpc-js-xds"

register()
const client = new Client("xds:///shop", credentials.createInsecure())
const asIs = (bytes) => bytes
const options = { deadline: Date.now() + 20_000 }
client.makeUnaryRequest(
  "/shop.Shop/Ask",
  asIs,
  asIs,
  Buffer.from("?"),
  new Metadata({ waitForReady: true }),
  options,
  (error, answer) => {
    console.log(error === null ? answer.toString() : `failed: ${error.message}`)
    process.exit()
  }
)
