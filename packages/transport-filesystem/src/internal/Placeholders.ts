/**
 * Finds template placeholders that were not rendered: `name: {{ .Values.name }}`. No valid file has two adjacent
 * braces.
 */
import type { SyntaxProblem } from "./SourceDocument.js"

/** The most placeholders reported per text. */
const most = 20

const lineAround = (text: string, offset: number): readonly [start: number, end: number] => {
  const end = text.indexOf("\n", offset)
  return [text.lastIndexOf("\n", offset - 1) + 1, end < 0 ? text.length : end]
}

const detail = "{{ begins a placeholder of a template; render the template first, and give what comes out"

/**
 * Replaces syntax mistakes by a message about unrendered templates. At a placeholder, and after it, a parser complains
 * about unrelated things.
 */
export const explain = (text: string, problems: ReadonlyArray<SyntaxProblem>): ReadonlyArray<SyntaxProblem> => {
  const isAt = ({ offset }: SyntaxProblem): boolean => {
    const [start, end] = lineAround(text, offset)
    return text.slice(start, end).includes("{{")
  }
  const first = problems.find(isAt)
  if (first === undefined) return problems
  const [begin] = lineAround(text, first.offset)
  const before = problems.filter(({ offset }) => offset < begin)
  const placeholders: Array<SyntaxProblem> = []
  for (let at = text.indexOf("{{", begin); at >= 0 && placeholders.length < most; at = text.indexOf("{{", at)) {
    placeholders.push({ offset: at, detail })
    at = lineAround(text, at)[1]
  }
  return [...before, ...placeholders]
}
