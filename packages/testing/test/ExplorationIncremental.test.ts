import { areExplored } from "./SmallWorlds.js"

areExplored((name) => name.includes("incremental"))
