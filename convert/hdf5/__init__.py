"""HDF5 files: h5py lays them out, plain writes fill them."""
