import comments from "@eslint-community/eslint-plugin-eslint-comments/configs"
import { defineConfig, globalIgnores } from "eslint/config"
import tseslint from "typescript-eslint"

const notPure = "The core is pure: no I/O, clock, randomness or logging."
const notPlain =
  "The state of the core is plain data. What is computed once is a field of the value it is computed from."
const noState = "The core has no state of its own: give it an owner."

const noSpread = [
  {
    selector: ":matches(CallExpression, NewExpression) > SpreadElement.arguments",
    message: "Every element becomes an argument, and a hundred thousand overflow the stack: use a loop, or concat."
  },
  {
    selector: "CallExpression[callee.property.name='apply'][arguments.length=2][callee.object.type='MemberExpression']",
    message: "Every element becomes an argument, and a hundred thousand overflow the stack: use a loop, or concat."
  }
]

/** A variable of a module. */
const ofModule = ":matches(Program, Program > ExportNamedDeclaration) > VariableDeclaration"

export default defineConfig(
  globalIgnores([
    "**/dist/",
    "packages/proto/gen/",
    "packages/proto-v2/gen/",
    "packages/proto/.proto/",
    ".peers/",
    "**/*.mjs",
    "**/*.js"
  ]),
  {
    files: ["**/*.ts"],
    extends: [tseslint.configs.strictTypeChecked, comments.recommended],
    linterOptions: { reportUnusedDisableDirectives: "error" },
    languageOptions: {
      parserOptions: {
        projectService: { allowDefaultProject: ["*.ts"], defaultProject: "tsconfig.base.json" },
        tsconfigRootDir: import.meta.dirname
      }
    },
    rules: {
      "@typescript-eslint/consistent-type-assertions": ["error", { assertionStyle: "never" }],
      "@typescript-eslint/consistent-type-imports": "error",
      "@typescript-eslint/no-import-type-side-effects": "error",
      "@typescript-eslint/no-explicit-any": "error",
      "@typescript-eslint/no-floating-promises": "error",
      "@typescript-eslint/no-non-null-assertion": "error",
      "@typescript-eslint/switch-exhaustiveness-check": [
        "error",
        { considerDefaultExhaustiveForUnions: true, requireDefaultForNonUnion: true }
      ],
      // Numbers in messages are fine.
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true, allowBoolean: true }],
      // `() => log(x)` as a callback reads well; Effect's types catch a lost effect.
      "@typescript-eslint/no-confusing-void-expression": "off",
      // Effect's errors are yielded (`yield* new X()`), and its schemas and tags are classes without members.
      "@typescript-eslint/no-extraneous-class": "off",
      // Generators of Effect.gen may have nothing to yield in a first version of a port.
      "require-yield": "off",
      // Data in the house style is `interface` where it can be extended, `type` for unions; both are fine.
      "@typescript-eslint/no-invalid-void-type": "off",
      "@eslint-community/eslint-comments/require-description": ["error", { ignore: ["eslint-enable"] }],
      "@eslint-community/eslint-comments/disable-enable-pair": ["error", { allowWholeFile: true }],
      "no-restricted-imports": [
        "error",
        {
          patterns: [
            {
              group: [
                "@effect-xds/*/src/*",
                "@effect-xds/*/dist/*",
                "@effect-xds/proto/gen/*",
                "@effect-xds/proto-v2/gen/*"
              ],
              message: "Import what the package exports."
            },
            { group: ["**/packages/*"], message: "Import other packages by their name." }
          ]
        }
      ]
    }
  },
  {
    files: ["packages/*/src/**"],
    ignores: ["packages/testing/**"],
    rules: {
      "no-restricted-syntax": ["error", ...noSpread]
    }
  },
  {
    files: ["packages/core/src/**", "packages/routing/src/**", "packages/discovery/src/**", "packages/re2/src/**"],
    rules: {
      "no-restricted-imports": [
        "error",
        {
          patterns: [
            { group: ["node:*"], message: notPure },
            {
              group: [
                "@effect-xds/*/src/*",
                "@effect-xds/*/dist/*",
                "@effect-xds/proto/gen/*",
                "@effect-xds/proto-v2/gen/*"
              ],
              message: "Import what the package exports."
            }
          ]
        }
      ],
      "no-restricted-globals": [
        "error",
        ...[
          "process",
          "console",
          "setTimeout",
          "setInterval",
          "setImmediate",
          "queueMicrotask",
          "fetch",
          "performance",
          "crypto"
        ].map((name) => ({ name, message: notPure }))
      ],
      "no-restricted-properties": [
        "error",
        { object: "Date", property: "now", message: notPure },
        { object: "Math", property: "random", message: notPure }
      ]
    }
  },
  {
    files: ["packages/core/src/**"],
    rules: {
      "no-restricted-syntax": [
        "error",
        ...noSpread,
        { selector: "Identifier[name=/^(WeakMap|WeakSet|WeakRef|FinalizationRegistry)$/]", message: notPlain },
        { selector: `${ofModule}[kind!='const']`, message: noState },
        {
          selector: `${ofModule} > VariableDeclarator[id.typeAnnotation.typeAnnotation.typeName.name=/^(Array|Map|Set)$/]`,
          message: noState
        },
        {
          selector: `${ofModule} > VariableDeclarator:not([id.typeAnnotation]) > NewExpression[callee.name=/^(Map|Set)$/]`,
          message: noState
        },
        // One of no bytes never changes.
        {
          selector: `${ofModule} > VariableDeclarator > NewExpression[callee.name=/^(\\w+Array|DataView)$/][arguments.length>0]`,
          message: noState
        }
      ]
    }
  },
  {
    files: ["packages/routing/**", "packages/discovery/**"],
    rules: {
      // Fields that the API has deprecated are still sent, and mean what they meant.
      "@typescript-eslint/no-deprecated": "off"
    }
  },
  {
    files: ["**/test/**/*.ts"],
    rules: {
      // Assertions compare methods and unbound functions on purpose.
      "@typescript-eslint/unbound-method": "off"
    }
  }
)
