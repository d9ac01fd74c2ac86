export * as RegularExpression from "./RegularExpression.js"
