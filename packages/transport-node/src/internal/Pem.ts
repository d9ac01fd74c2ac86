/** Whether a value is PEM text. Otherwise it is the path of a PEM file. */
export const isText = (value: string): boolean => value.includes("-----BEGIN ")
