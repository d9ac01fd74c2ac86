export * as Outlier from "./Outlier.js"
export * as OutlierRules from "./OutlierRules.js"
export * as OutlierSettings from "./OutlierSettings.js"
