// Comments for descriptors that have none, from descriptors of other files that say the same: a message, field, enum, value,
// service or method gets the comment of the one with its full name; a field and a value must have the number, too.

/** The numbers of fields in google/protobuf/descriptor.proto, of which the paths of locations are made. */
const inFile = { package: 2, message: 4, enum: 5, service: 6, extension: 7, syntax: 12 }
const inMessage = { field: 2, message: 3, enum: 4, extension: 6, oneof: 8 }
const inEnum = { value: 2 }
const inService = { method: 2 }

/** What can have a comment in a file, each as [what it is and its full name, its path]. */
const commentable = function* (file) {
  // The comments on these two stand at the top of what is generated.
  yield [`syntax ${file.name}`, [inFile.syntax]]
  yield [`package ${file.name}`, [inFile.package]]
  const scope = file.package === "" ? "" : `${file.package}.`
  for (const [at, message] of file.messageType.entries()) yield* ofMessage(message, scope, [inFile.message, at])
  for (const [at, type] of file.enumType.entries()) yield* ofEnum(type, scope, [inFile.enum, at])
  for (const [at, field] of file.extension.entries()) yield ofField(field, scope, [inFile.extension, at])
  for (const [at, service] of file.service.entries()) {
    yield [`service ${scope}${service.name}`, [inFile.service, at]]
    for (const [index, method] of service.method.entries()) {
      yield [`method ${scope}${service.name}.${method.name}`, [inFile.service, at, inService.method, index]]
    }
  }
}

const ofField = (field, scope, path) => [`field ${scope}${field.name} ${field.number}`, path]

const ofMessage = function* (message, outer, path) {
  yield [`message ${outer}${message.name}`, path]
  const scope = `${outer}${message.name}.`
  for (const [at, field] of message.field.entries()) yield ofField(field, scope, [...path, inMessage.field, at])
  for (const [at, field] of message.extension.entries()) yield ofField(field, scope, [...path, inMessage.extension, at])
  for (const [at, oneof] of message.oneofDecl.entries()) {
    yield [`oneof ${scope}${oneof.name}`, [...path, inMessage.oneof, at]]
  }
  for (const [at, inner] of message.nestedType.entries())
    yield* ofMessage(inner, scope, [...path, inMessage.message, at])
  for (const [at, type] of message.enumType.entries()) yield* ofEnum(type, scope, [...path, inMessage.enum, at])
}

const ofEnum = function* (type, outer, path) {
  yield [`enum ${outer}${type.name}`, path]
  for (const [at, value] of type.value.entries()) {
    yield [`value ${outer}${type.name}.${value.name} ${value.number}`, [...path, inEnum.value, at]]
  }
}

const hasComment = (location) =>
  location.leadingComments !== "" || location.trailingComments !== "" || location.leadingDetachedComments.length > 0

/** Gives the files of one list, which have no locations, those with comments that the other list has for the same things. */
export const graft = (files, commented) => {
  const found = new Map()
  for (const file of commented) {
    const byPath = new Map()
    for (const location of file.sourceCodeInfo?.location ?? []) {
      if (hasComment(location)) byPath.set(location.path.join(), location)
    }
    for (const [key, path] of commentable(file)) {
      const location = byPath.get(path.join())
      if (location !== undefined) found.set(key, location)
    }
  }
  for (const file of files) {
    const location = []
    for (const [key, path] of commentable(file)) {
      const known = found.get(key)
      if (known !== undefined) location.push({ ...known, path })
    }
    if (location.length > 0) file.sourceCodeInfo = { $typeName: "google.protobuf.SourceCodeInfo", location }
  }
}
