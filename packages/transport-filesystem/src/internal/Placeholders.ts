/** What is left of a template that was not rendered: `name: {{ .Values.name }}`. No format of ours has two braces side by side. */
import type { SyntaxProblem } from "./SourceDocument.js"

/** Placeholders that are told of one text. */
const most = 20

const lineAround = (text: string, offset: number): readonly [start: number, end: number] => {
  const end = text.indexOf("\n", offset)
  return [text.lastIndexOf("\n", offset - 1) + 1, end < 0 ? text.length : end]
}

const detail = "{{ begins a placeholder of a template; render the template first, and give what comes out"

/**
 * Problems in the words of those who forgot to render a template. A parser that meets a placeholder says something about
 * keys, and more about what follows; that is left out.
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
