export * as ByteExpression from "./ByteExpression.js"
export * as RegularExpression from "./RegularExpression.js"
