/** All mistakes. */
import { ofListeners } from "./listeners.js"
import { ofChains } from "./chains.js"
import { ofHttp } from "./http.js"
import { ofRoutes } from "./routes.js"
import { ofExpressions } from "./expressions.js"
import { ofClusters } from "./clusters.js"
import { ofEndpoints } from "./endpoints.js"
import { ofTls } from "./tls.js"
import { ofProtocols } from "./protocols.js"
import { ofUnopened } from "./unopened.js"
import type { Mistake } from "./Mistake.js"

export const mistakes: ReadonlyArray<Mistake> = [
  ofListeners,
  ofChains,
  ofHttp,
  ofRoutes,
  ofExpressions,
  ofClusters,
  ofEndpoints,
  ofTls,
  ofUnopened,
  ofProtocols
].flat()
