/** Types of one's own, for kinds of rules that Envoy's API does not have. */
import type { DescMessage, Message, MessageInitShape } from "@bufbuild/protobuf"
import { create, createFileRegistry, setExtension } from "@bufbuild/protobuf"
import {
  FieldDescriptorProto_Label,
  FieldDescriptorProto_Type,
  FieldDescriptorProtoSchema,
  FieldOptionsSchema,
  file_google_protobuf_any,
  file_google_protobuf_duration,
  file_google_protobuf_timestamp,
  file_google_protobuf_wrappers,
  FileDescriptorProtoSchema,
  MessageOptionsSchema
} from "@bufbuild/protobuf/wkt"
import { sensitive } from "@effect-xds/proto/udpa/annotations/sensitive"
import { disabled, FieldRulesSchema, rules as rulesOption } from "@effect-xds/proto/validate/validate"

type Kind = Exclude<keyof typeof FieldDescriptorProto_Type, number> | `google.protobuf.${string}`

export interface Own {
  readonly kind: Kind
  readonly rules: MessageInitShape<typeof FieldRulesSchema>
  readonly isRepeated?: boolean
  readonly isOptional?: boolean
  readonly isSensitive?: boolean
  readonly isDisabled?: boolean
}

const isScalar = (kind: Kind): kind is Exclude<Kind, `google.${string}`> => kind in FieldDescriptorProto_Type

const typeOf = (kind: Kind): FieldDescriptorProto_Type =>
  isScalar(kind) ? FieldDescriptorProto_Type[kind] : FieldDescriptorProto_Type.MESSAGE

/** `test.Own` with one field `f`. */
export const ownType = ({ isDisabled, isOptional, isRepeated, isSensitive, kind, rules }: Own): DescMessage => {
  const options = create(FieldOptionsSchema)
  setExtension(options, rulesOption, create(FieldRulesSchema, rules))
  if (isSensitive === true) setExtension(options, sensitive, true)
  const type = typeOf(kind)
  const messageOptions = create(MessageOptionsSchema)
  if (isDisabled === true) setExtension(messageOptions, disabled, true)
  const file = create(FileDescriptorProtoSchema, {
    name: "test/own.proto",
    package: "test",
    syntax: "proto3",
    dependency: ["any", "duration", "timestamp", "wrappers"].map((name) => `google/protobuf/${name}.proto`),
    messageType: [
      {
        name: "Own",
        options: messageOptions,
        field: [
          create(FieldDescriptorProtoSchema, {
            name: "f",
            number: 1,
            type,
            label: isRepeated === true ? FieldDescriptorProto_Label.REPEATED : FieldDescriptorProto_Label.OPTIONAL,
            ...(type === FieldDescriptorProto_Type.MESSAGE ? { typeName: `.${kind}` } : {}),
            ...(isOptional === true ? { proto3Optional: true, oneofIndex: 0 } : {}),
            options
          })
        ],
        oneofDecl: isOptional === true ? [{ name: "_f" }] : []
      }
    ]
  })
  const known = [
    file_google_protobuf_any,
    file_google_protobuf_duration,
    file_google_protobuf_timestamp,
    file_google_protobuf_wrappers
  ]
  const registry = createFileRegistry(file, (name) => known.find((each) => `${each.name}.proto` === name)?.proto)
  const made = registry.getMessage("test.Own")
  if (made === undefined) throw new Error("no test.Own")
  return made
}

export const own = (type: DescMessage, value: unknown): Message => {
  const message = create(type)
  if (value !== undefined) Reflect.set(message, "f", value)
  return message
}
