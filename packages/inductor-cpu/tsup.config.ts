import { browserWorkerScript } from '@tessera/shared';
import { libraryBuild } from '../../tooling/tsup.js';
import { WORKER_PROGRAM } from './src/runtime/worker-program.js';

export default libraryBuild({ files: { 'worker.js': browserWorkerScript(WORKER_PROGRAM) } });
