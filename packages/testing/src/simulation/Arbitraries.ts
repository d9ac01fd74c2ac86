/**
 * Random resources, store changes, requests, faults and whole scripts, for property tests with fast-check. Each is in a file of
 * its own; here they are together.
 *
 * @since 0.1.0
 */
export { aliasOf, collections, collectionsOf, hosts, moving, names, type Naming } from "./Naming.js"
export { resourceSpec, storeChange, withMovedAliases, type StoreChange } from "./StoreChange.js"
export { script, type Operation } from "./StreamScript.js"
export { incrementalRequest, stateOfTheWorldRequest } from "../input/RandomRequest.js"
export { simulationScript } from "./SimulationScript.js"
export { replacementScript } from "./ReplacementScript.js"
export { hostScript } from "./HostScript.js"
export { collectionScript } from "./CollectionScript.js"
export { faults } from "./FaultPlan.js"
