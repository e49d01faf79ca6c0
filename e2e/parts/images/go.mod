module outrigger/images

go 1.26
