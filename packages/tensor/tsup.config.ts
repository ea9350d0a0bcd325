import { libraryBuild } from '../../tooling/tsup.js';

// In lib.dom alone. Declared here, it merges with that one, and is there in projects for Node.
export default libraryBuild({
  typesBanner: 'declare global {\n  namespace WebAssembly {\n    interface Memory {}\n  }\n}',
});
