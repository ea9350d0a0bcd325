import { browserWorkerScript } from '@tessera/shared';
import { libraryBuild } from '../../tooling/tsup.js';
import { DECODER_PROGRAM } from './src/data/decoder-program.js';

export default libraryBuild({ files: { 'data-worker.js': browserWorkerScript(DECODER_PROGRAM) } });
