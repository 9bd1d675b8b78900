// Ctrl-C asks a run to stop and keep its best model; a second Ctrl-C ends the program at once.
#pragma once

namespace parley::app {

void watch_interrupts();
bool interrupted();

}  // namespace parley::app
