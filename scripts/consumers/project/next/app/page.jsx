import { Trainer } from './trainer';

export default function Page() {
  return <Trainer />;
}
