// A library that has a driver's version and no other function.

extern "C" int cuDriverGetVersion(int* version) {
  *version = 12020;
  return 0;
}
