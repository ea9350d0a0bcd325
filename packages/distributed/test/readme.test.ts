/**
 * @file The code in the README runs, as a job of one process.
 */
import { testReadme } from '../../../tooling/readme.js';
import { NOT_RUN, hasMpi } from './support/mpirun.js';

testReadme(new URL('../README.md', import.meta.url), {
  before: async () => (hasMpi ? null : NOT_RUN),
});
