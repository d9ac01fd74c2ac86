import { describe, expect, it } from "@effect/vitest"
import { GroupTags } from "../src/internal/GroupTags.js"

describe("the tags of groups' metrics", () => {
  const valueOf = (tags: GroupTags, group: string) => tags.of(group)[0]?.value

  it("are those of so many groups, and the rest is one", () => {
    const tags = new GroupTags(2)
    for (const group of ["a", "b", "a"]) expect(valueOf(tags, group)).toBe(group)
    for (const group of ["c", "d"]) expect(valueOf(tags, group)).toBe("other")
    expect(valueOf(tags, "b")).toBe("b")
  })

  it("are no long names", () => {
    const tags = new GroupTags(1)
    expect(valueOf(tags, "x".repeat(201))).toBe("other")
    expect(valueOf(tags, "x".repeat(200))).toBe("x".repeat(200))
  })
})
