/** @file The worker of the page of points. */
import { PointMaker } from './points-model.js';
import { serve } from './remote.js';

let maker: PointMaker;

serve({
  learn(tell, shape: string, steps: number) {
    maker = new PointMaker();
    maker.learn(shape, steps, tell);
  },
  make: (tell, count: number) => maker.make(count, tell),
});
